package locktest

import (
	"flag"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// TestMain lets more laws be tried side by side than there are processors: they wait most of the time. More than this
// would make the machine the cause of what a law finds.
func TestMain(m *testing.M) {
	flag.Parse()
	_ = flag.Set("test.parallel", strconv.Itoa(sideBySide))
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

// Every law has its text in the table's other language, and no text is left over.
func TestLawsInChinese(t *testing.T) {
	require.Len(t, lawsZH, len(laws))
	for _, l := range laws {
		require.NotEmpty(t, lawsZH[l.Name], l.Name)
		require.NotEmpty(t, headingsZH[l.Heading], l.Name)
	}
}
