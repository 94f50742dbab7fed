package server

// stub.go is replaced by the real implementation.

type Conn struct{ State any }
type Listener struct {
	Name           string
	AdvertisedHost string
	AdvertisedPort int32
}

func (r *Request) Reply(parts ...Part)                 {}
func (r *Request) ReplyBytes(b []byte, release func()) {}
func (r *Request) ReplyNothing()                       {}
func (r *Request) Fail(reason string)                  {}
func (c *Conn) ID() uint64                             { return 0 }
func (c *Conn) Listener() *Listener                    { return nil }
func (c *Conn) Closed() bool                           { return false }
func (c *Conn) OnClose(f func()) (cancel func())       { return func() {} }
func (c *Conn) SetSoftware(name, version string)       {}
func (c *Conn) Software() (name, version string)       { return "", "" }
