"""Drives the Python clients of Kafka for the client matrix: confluent-kafka, aiokafka and kafka-python.

Reads one command (JSON) from standard input, carries it out and prints JSON lines; ../README.md describes both.
"""

import importlib
import json
import sys

MODULES = {"confluent-kafka": "client_confluent", "aiokafka": "client_aiokafka", "kafka-python": "client_kafka_python"}


def main():
    command = json.load(sys.stdin)
    module = importlib.import_module(MODULES[command["client"]])
    getattr(module, command["op"])(command)


if __name__ == "__main__":
    main()
