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

func TestSize(t *testing.T) {
	for n, want := range map[float64]string{0: "0 B", 8: "8 B", 1000: "1000 B", 1536: "1.5 KiB", 64 << 10: "64 KiB", 512 << 20: "512 MiB", 1 << 30: "1 GiB", 16 << 30: "16 GiB", 1 << 50: "1024 TiB", 1e300: "9.09e+287 TiB"} {
		if got := Size(n); got != want {
			t.Errorf("%v: %q, want %q", n, got, want)
		}
	}
}

func TestBrief(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0.01 ms", 300 * time.Nanosecond: "0.01 ms", 47 * time.Microsecond: "0.047 ms", 2700 * time.Microsecond: "2.7 ms", 272 * time.Millisecond: "272 ms",
		2700 * time.Millisecond: "2.7 s", 300 * time.Second: "300 s",
	} {
		if got := Brief(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
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
