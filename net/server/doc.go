// Package server carries frames between sockets and a Handler.
package server
