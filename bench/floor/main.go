package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

func main() {
	dir := flag.String("dir", "", "folder for the partition files; what is in it is not read")
	listen := flag.String("listen", "127.0.0.1:18092", "address to listen on")
	mode := flag.String("io", "direct", "direct (O_DIRECT and DSYNC) | buffered (page cache, not flushed) | slabs (a sink: acknowledged before it is written, all to one file) | nothing (a sink that keeps nothing)")
	flag.Parse()
	if err := run(*dir, *listen, *mode); err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

func run(dir, listen, mode string) error {
	if dir == "" {
		return errors.New("--dir is needed")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	switch mode {
	case "direct", "buffered":
		l, err := net.Listen("tcp", listen)
		if err != nil {
			return err
		}
		return newServer(dir, mode == "direct").serve(l)
	case "slabs":
		return serveSink(listen, filepath.Join(dir, "sink"))
	case "nothing":
		return serveSink(listen, "")
	}
	return fmt.Errorf("--io %q is not known", mode)
}
