// Package admin answers the requests that read the cluster's state: topics, brokers,
// configs, log dirs. Everything but log dir sizes comes from one meta.Image, loaded
// once for each request, so that an answer never mixes two states; nothing here takes
// a lock or changes anything. (Metadata may start the creation of a topic, which it
// hands to the controller and does not wait for.)
//
// Methods may be called from any goroutine. Responses share memory with the image and
// with each other: they are for encoding only.
package admin
