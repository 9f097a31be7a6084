package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// credentials are the one account of the server.
type credentials struct {
	AccessKey string
	SecretKey string
}

// readCredentials reads the default profile of an AWS shared-credentials file. It refuses a file that others can read.
func readCredentials(path string) (credentials, error) {
	var c credentials
	f, err := os.Open(path)
	if err != nil {
		return c, fmt.Errorf("read credentials: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return c, fmt.Errorf("read credentials: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return c, fmt.Errorf("read credentials: %s has mode %04o: others can read it, make it 0600", path, info.Mode().Perm())
	}
	profile := ""
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			profile = strings.TrimSpace(strings.Trim(line, "[]"))
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if profile != "default" || !ok {
			continue
		}
		switch strings.TrimSpace(key) {
		case "aws_access_key_id":
			c.AccessKey = strings.TrimSpace(value)
		case "aws_secret_access_key":
			c.SecretKey = strings.TrimSpace(value)
		}
	}
	if err := lines.Err(); err != nil {
		return c, fmt.Errorf("read credentials: %w", err)
	}
	if c.AccessKey == "" || c.SecretKey == "" {
		return c, fmt.Errorf("read credentials: %s has no access key and secret key in [default]", path)
	}
	return c, nil
}
