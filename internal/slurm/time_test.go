package slurm

import (
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	zone := time.FixedZone("CET", 3600)
	got, err := parseTime("2026-11-20T20:34:06", zone)
	if err != nil || !got.Equal(at(t, "2026-11-20T19:34:06Z")) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, word := range []string{"", "Unknown", "N/A", "None", "None assigned", "(null)"} {
		if got, err := parseTime(word, nil); err != nil || !got.IsZero() {
			t.Errorf("ParseTime(%q) = %v, %v", word, got, err)
		}
	}
	for _, word := range []string{"tomorrow", "2026-13-01T00:00:00", "20:34:06"} {
		if got, err := parseTime(word, nil); err == nil {
			t.Errorf("ParseTime(%q) = %v, want an error", word, got)
		}
	}
}

func TestParseDuration(t *testing.T) {
	cases := map[string]time.Duration{
		"": 0, "UNLIMITED": 0, "NONE": 0, "Partition_Limit": 0, "00:05:00": 5 * time.Minute, "01:30": 90 * time.Second,
		"2-00:30:00": 48*time.Hour + 30*time.Minute, "14-12:00:01": 348*time.Hour + time.Second,
	}
	for text, want := range cases {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("ParseDuration(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"x", "5", "1:2:3:4", "a-00:00:00", "-1:00", "1-"} {
		if got, err := parseDuration(text); err == nil {
			t.Errorf("ParseDuration(%q) = %v, want an error", text, got)
		}
	}
}
