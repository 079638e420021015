package lock

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every function of Observer is handed on, also one that is added later.
func TestObserversTellEach(t *testing.T) {
	told := map[string]int{}
	observer := func() Observer {
		var o Observer
		v := reflect.ValueOf(&o).Elem()
		for i := range v.NumField() {
			name := v.Type().Field(i).Name
			v.Field(i).Set(reflect.ValueOf(func(Event) { told[name]++ }))
		}
		return o
	}
	both := reflect.ValueOf(Observers(observer(), Observer{}, observer()))
	for i := range both.NumField() {
		name := both.Type().Field(i).Name
		require.False(t, both.Field(i).IsNil(), name)
		both.Field(i).Call([]reflect.Value{reflect.ValueOf(Event{})})
		require.Equal(t, 2, told[name], name)
	}
	none := reflect.ValueOf(Observers(Observer{}, Observer{}))
	for i := range none.NumField() {
		require.True(t, none.Field(i).IsNil(), "nobody listens: nothing is called")
	}
}
