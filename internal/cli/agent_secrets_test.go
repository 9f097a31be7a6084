package cli

import "testing"

// TestHeadUser: where there is one user alone, the head node is his.
func TestHeadUser(t *testing.T) {
	for ids, want := range map[string]int{
		"         0          0 4294967295\n":                          0,
		"      1000          0          1\n":                          1000,
		"         0       1000          1\n         1 100000 65536\n": 0,
		"": 0,
	} {
		if got := headUser(ids, 1000); got != want {
			t.Errorf("of %q it is %d, want %d", ids, got, want)
		}
	}
}
