package locktest

import "slices"

var laws = slices.Concat(under(Safety, safety), under(Deadlock, deadlock), under(Faults, faults))

func under(h Heading, list []Law) []Law {
	for i := range list {
		list[i].Heading = h
	}
	return list
}
