// Command conns opens many idle connections and some busy ones to one broker and says
// whether it bears them: nothing refused, nothing dropped, and little memory.
//
// The idle connections come from several addresses of 127/8, as one address has too few
// ports for very many, and from as many processes as the limit of open files asks for
// (this program starts itself as a worker). Each one asks for ApiVersions when it is
// opened and again at the end: a connection that the broker has dropped meanwhile is
// counted. The busy ones each produce a batch of their own and fetch it back, again and
// again, all the while.
package main
