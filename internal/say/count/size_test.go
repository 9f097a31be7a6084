package count

import (
	"testing"
	"time"
)

func TestBytes(t *testing.T) {
	for _, row := range []struct {
		bytes int64
		want  string
	}{
		{0, "0 B"}, {1023, "1023 B"}, {1024, "1.0 KiB"}, {1992294 << 20, "1.9 TiB"}, {82153836544, "77 GiB"}, {1<<63 - 1, "8.0 EiB"},
	} {
		if got := Bytes(row.bytes); got != row.want {
			t.Errorf("Bytes(%d) is %s, want %s", row.bytes, got, row.want)
		}
	}
}

func TestSpan(t *testing.T) {
	for _, row := range []struct {
		span time.Duration
		want string
	}{
		{-time.Second, "0 s"}, {59*time.Second + 999*time.Millisecond, "59 s"}, {61 * time.Second, "1 min"},
		{90 * time.Minute, "1 h 30 min"}, {47 * time.Hour, "47 h 0 min"}, {49 * time.Hour, "2 days"},
	} {
		if got := Span(row.span); got != row.want {
			t.Errorf("Span(%s) is %s, want %s", row.span, got, row.want)
		}
	}
}
