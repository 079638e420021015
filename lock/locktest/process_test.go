package locktest

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestServersDieWithUs kills a test binary that has started a server.
func TestServersDieWithUs(t *testing.T) {
	const env = "LOCKTEST_PARENT"
	if os.Getenv(env) != "" {
		servers, err := start(1)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(servers[0].process.cmd.Process.Pid)
		select {}
	}
	needServer(t)
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can have a server die with a killed parent")
	}
	parent := exec.Command(os.Args[0], "-test.run=^TestServersDieWithUs$")
	parent.Env = append(os.Environ(), env+"=1")
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	var pid int
	_, err = fmt.Fscan(out, &pid)
	require.NoError(t, err)
	server, err := os.FindProcess(pid)
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Kill() }) // if it outlives us against the promise
	require.NoError(t, server.Signal(syscall.Signal(0)), "it runs")
	require.NoError(t, parent.Process.Kill())
	_ = parent.Wait()
	require.Eventually(t, func() bool { return server.Signal(syscall.Signal(0)) != nil }, 20*time.Second, 5*time.Millisecond)
}

// A thread that ends must not take a server with it.
func TestAServerOutlivesTheThreadThatAskedForIt(t *testing.T) {
	needServer(t)
	got := make(chan []*Server)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		servers, err := start(1)
		if err != nil {
			t.Error(err)
		}
		got <- servers
	}()
	servers := <-got
	defer stopAll(servers)
	select {
	case <-servers[0].process.exited:
		t.Fatal("the server died with the thread")
	case <-time.After(200 * time.Millisecond): // nothing signals that something does not happen
	}
}
