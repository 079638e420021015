package locktest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
)

// frame reads one message of the Redis protocol, version 2 or 3, and returns its bytes.
func frame(r *bufio.Reader) ([]byte, error) {
	var out bytes.Buffer
	err := copyFrame(r, &out)
	return out.Bytes(), err
}

func copyFrame(r *bufio.Reader, out *bytes.Buffer) error {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return err
	}
	out.Write(line)
	if len(line) < 3 {
		return fmt.Errorf("short line %q", line)
	}
	n, _ := strconv.Atoi(string(bytes.TrimRight(line[1:], "\r\n")))
	switch line[0] {
	case '$', '!', '=': // bytes of a known length
		if n >= 0 {
			_, err = io.CopyN(out, r, int64(n)+2)
		}
	case '*', '~', '>': // so many messages
		for i := 0; i < n && err == nil; i++ {
			err = copyFrame(r, out)
		}
	case '%', '|': // so many pairs
		for i := 0; i < 2*n && err == nil; i++ {
			err = copyFrame(r, out)
		}
	}
	return err
}

// words splits a command, which is an array of bulk strings.
func words(command []byte) []string {
	r := bufio.NewReader(bytes.NewReader(command))
	head, err := r.ReadString('\n')
	if err != nil || head[0] != '*' {
		return nil
	}
	var all []string
	for {
		head, err := r.ReadString('\n')
		if err != nil {
			return all
		}
		n, _ := strconv.Atoi(head[1 : len(head)-2])
		word := make([]byte, n+2)
		if _, err := io.ReadFull(r, word); err != nil {
			return all
		}
		all = append(all, string(word[:n]))
	}
}
