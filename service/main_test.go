package service

import (
	"testing"

	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	logging.Disable() // tests that take Redis away would fill the screen
	goleak.VerifyTestMain(m)
}
