package agent

import "testing"

func TestNeedsPlugin(t *testing.T) {
	for said, want := range map[string]bool{
		"/usr/libexec/mysqld  Ver 10.3.39-MariaDB for Linux on x86_64 (MariaDB Server)": true,
		"mysqld  Ver 5.5.68-MariaDB for Linux on x86_64 (MariaDB Server)":               true,
		"mariadbd  Ver 10.4.2-MariaDB for Linux":                                        true,
		"mariadbd  Ver 10.4.3-MariaDB for Linux":                                        false,
		"/usr/sbin/mariadbd  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu":       false,
		"mysqld  Ver 8.0.36 for Linux on x86_64 (MySQL Community Server - GPL)":         false,
		"": false,
	} {
		if got := needsPlugin(said); got != want {
			t.Errorf("%q: got %v", said, got)
		}
	}
}
