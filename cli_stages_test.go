package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"seckill/service"
)

func stagesOutput(args ...string) (string, error) {
	var out bytes.Buffer
	cmd := stagesCommand()
	cmd.SetOut(&out)
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.Execute()
	return out.String(), err
}

func TestStages_EveryViewHasARowForEachStage(t *testing.T) {
	for _, view := range []string{"texts", "parts", "claims"} {
		for _, format := range []string{"table", "markdown"} {
			out, err := stagesOutput("--view", view, "--format", format)
			require.NoError(t, err)
			for _, name := range service.Names() {
				require.Regexp(t, `(?m)^(\| )?`+name+` `, out, "%s %s", view, format)
			}
		}
	}
}

func TestStages_TrackAndLanguage(t *testing.T) {
	out, err := stagesOutput("--track", "lesson", "--lang", "zh", "--format", "markdown")
	require.NoError(t, err)
	require.Equal(t, len(service.Track("lesson"))+2, strings.Count(out, "\n"))
	require.Contains(t, out, "看门狗")
}

func TestStages_ClaimsNameWhatMustAndMayAppear(t *testing.T) {
	out, err := stagesOutput("--view", "claims", "--format", "markdown")
	require.NoError(t, err)
	require.Regexp(t, `(?m)^\| none \| oversold \(duplicates, drift\) \|`, out)
	require.Regexp(t, `(?m)^\| for-update \| ok \|.*\| sqlite \|$`, out)
}

func TestStages_UnknownValuesAreRefused(t *testing.T) {
	for _, args := range [][]string{{"--track", "x"}, {"--view", "x"}, {"--lang", "x"}, {"--format", "x"}, {"x"}} {
		out, err := stagesOutput(args...)
		require.Error(t, err, args)
		require.Empty(t, out)
	}
}
