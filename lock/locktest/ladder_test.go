package locktest

import (
	"flag"
	"testing"

	"go.uber.org/goleak"
)

// TestMain lets more laws be tried side by side than there are processors: they wait most of the time.
func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", "20")
	goleak.VerifyTestMain(m)
}

// TestConformance holds every lock of the ladder against every law. What a lock breaks is declared, with the reason,
// in Ladder, from which the README's table is printed too.
func TestConformance(t *testing.T) {
	for _, e := range Ladder() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			Run(t, e.Open, e.Want)
		})
	}
}
