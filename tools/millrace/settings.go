package main

import (
	"errors"
	"fmt"
	"net"
	"os"

	"millrace/broker/config"

	"github.com/spf13/pflag"
)

// settings are the flags of serve that configure the node.
type settings struct {
	file    string
	dev     bool
	dataDir string
	listen  string
	http    string
	set     []string
}

func (s *settings) register(f *pflag.FlagSet) {
	f.StringVarP(&s.file, "config", "c", "", "`FILE` in the form of Kafka's server.properties")
	f.BoolVar(&s.dev, "dev", false, "run without a file: on 127.0.0.1:9092, data in ./data, groups that balance at once")
	f.StringVar(&s.dataDir, "data-dir", "", "`DIR` for the log (log.dirs)")
	f.StringVar(&s.listen, "listen", "", "`HOST:PORT` for clients (listeners)")
	f.StringVar(&s.http, "http", "", "`HOST:PORT` for metrics, health and profiles (http.listen); off turns it off")
	f.StringArrayVar(&s.set, "set", nil, "`KEY=VALUE` sets any config; may be repeated")
}

// devProperties are the configs of --dev.
var devProperties = map[string]string{
	"listeners":                        "PLAINTEXT://127.0.0.1:9092",
	"log.dirs":                         "data",
	"group.initial.rebalance.delay.ms": "0",
}

// properties lays the sources of configuration over one another: --dev, the file, the environment, the flags, --set.
func (s *settings) properties(environ []string) (map[string]string, error) {
	var dev, file map[string]string
	if s.dev {
		dev = devProperties
	}
	if s.file != "" {
		var err error
		if file, err = readConfig(s.file); err != nil {
			return nil, err
		}
	}
	flags, err := s.flags()
	if err != nil {
		return nil, err
	}
	set, err := config.ParseAssignments(s.set)
	if err != nil {
		return nil, fmt.Errorf("--set %w", err)
	}
	props := config.Merge(dev, file, config.FromEnvironment(environ), flags, set)
	if props["log.dirs"] == "" && props["log.dir"] == "" {
		return nil, errors.New("where is the data to be? Give --config FILE with log.dirs, --data-dir DIR, or --dev for ./data")
	}
	return props, nil
}

func readConfig(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	props, err := config.ParseProperties(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return props, nil
}

// flags are the configs that have a flag of their own.
func (s *settings) flags() (map[string]string, error) {
	props := map[string]string{}
	if s.dataDir != "" {
		props["log.dirs"] = s.dataDir
	}
	if s.listen != "" {
		if _, _, err := net.SplitHostPort(s.listen); err != nil {
			return nil, fmt.Errorf("--listen must be HOST:PORT, with an IPv6 address in brackets: %w", err)
		}
		props["listeners"] = "PLAINTEXT://" + s.listen
	}
	switch s.http {
	case "":
	case "off":
		props["http.listen"] = ""
	default:
		props["http.listen"] = s.http
	}
	return props, nil
}
