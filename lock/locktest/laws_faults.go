package locktest

var faults = []Law{}
