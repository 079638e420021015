package lock

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSourcesAreComplete(t *testing.T) {
	for _, pattern := range []string{"*.go", "*.lua"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, f := range files {
			_, err := Sources.ReadFile(f)
			require.Equal(t, strings.HasSuffix(f, "_test.go"), err != nil, "%s: go:embed in sources.go", f)
		}
	}
}
