package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
)

func main() {
	dir := flag.String("dir", "", "folder for the partition files; what is in it is not read")
	listen := flag.String("listen", "127.0.0.1:18092", "address to listen on")
	mode := flag.String("io", "direct", "direct (O_DIRECT and DSYNC) | buffered (page cache, not flushed)")
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
	if mode != "direct" && mode != "buffered" {
		return fmt.Errorf("--io %q is not known", mode)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	return newServer(dir, mode == "direct").serve(l)
}
