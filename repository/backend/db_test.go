package backend_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"seckill/repository/backend"
	"seckill/repository/backend/backendtest"
)

func TestSpawnedDatabaseIsReadyAndEmpty(t *testing.T) {
	db, err := backend.SpawnDB(t.Context())
	if err != nil {
		backendtest.Skip(t, err)
	}
	t.Logf("%+v", db)
	require.NoError(t, db.Stop())
}
