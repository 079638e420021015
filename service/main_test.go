package service_test

import (
	"os"
	"testing"

	"github.com/redis/go-redis/v9/logging"

	"seckill/repository/backend/backendtest"
)

func TestMain(m *testing.M) {
	logging.Disable() // tests that take Redis away would fill the screen
	os.Exit(backendtest.Main(m))
}
