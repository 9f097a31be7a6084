package nodes

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAlias: the owner's own name stays the first of his number.
func TestAlias(t *testing.T) {
	r := Record{User: "ada", UID: 1000, GID: 100, ImageUser: "ubuntu"}
	users := "root:x:0:0::/root:/bin/sh\nada:x:1000:100::/home/ada:/usr/sbin/nologin"
	if diff := cmp.Diff("root:x:0:0::/root:/bin/sh\nada:x:1000:100::/home/ada:/bin/bash\nubuntu:x:1000:100:ada's other name:/home/ubuntu:/bin/bash\n", ownUsers(users, r)); diff != "" {
		t.Errorf("users, want -, got +:\n%s", diff)
	}
	if diff := cmp.Diff("users:x:100:\nubuntu:x:100:\n", ownGroups("tty:x:5:\nusers:x:100:\n", r)); diff != "" {
		t.Errorf("groups, want -, got +:\n%s", diff)
	}
	if has(users, 0, "ubuntu") || !has(users, 2, "1000") || has("", 0, "") {
		t.Error("the lines are read wrongly")
	}
}
