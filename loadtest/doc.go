// Package loadtest drives load at several server processes and judges what they did.
//
// It is a measuring instrument: a Runner starts a fleet for every row (one stage in one scenario), lets users click
// at the same moment at different processes, waits until the work has drained, counts the orders in the database
// and compares the outcome with what the stage claims. It knows the service through HTTP alone and imports nothing
// of it, so that a fault in the service can't hide in the ruler.
package loadtest
