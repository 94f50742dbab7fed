// Package deps holds the tests of what the compiler does not hold: the order of imports, that the documents name what
// exists, and that nothing is left to be done. They ask the go command, whose answers the test cache does not see:
// run them with -count=1, as make test does.
package deps
