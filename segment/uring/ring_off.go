//go:build !uring || !linux

package uring

import "errors"

var errNoRing = errors.New("built without the tag uring")

func probeRing() error { return errNoRing }

func newRing(int) (Engine, error) { return nil, errNoRing }
