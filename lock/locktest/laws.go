package locktest

import "slices"

var laws = slices.Concat(under(Safety, safety), under(Deadlock, deadlock), under(Faults, replyFaults), under(Faults, serverFaults),
	under(Faults, waiterFaults))

func under(h Heading, list []Law) []Law {
	for i := range list {
		list[i].Heading = h
	}
	return list
}
