package lock

// Observers makes one observer of several: each is told in turn.
func Observers(list ...Observer) Observer {
	pick := func(of func(Observer) func(Event)) func(Event) {
		var each []func(Event)
		for _, o := range list {
			if f := of(o); f != nil {
				each = append(each, f)
			}
		}
		if len(each) == 0 {
			return nil
		}
		return func(e Event) {
			for _, f := range each {
				f(e)
			}
		}
	}
	return Observer{
		Acquired: pick(func(o Observer) func(Event) { return o.Acquired }),
		Waited:   pick(func(o Observer) func(Event) { return o.Waited }),
		Renewed:  pick(func(o Observer) func(Event) { return o.Renewed }),
		Lost:     pick(func(o Observer) func(Event) { return o.Lost }),
		Released: pick(func(o Observer) func(Event) { return o.Released }),
	}
}
