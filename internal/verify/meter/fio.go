package meter

import (
	"bytes"
	"strings"
)

// Fio is what fio measured: https://fio.readthedocs.io
type Fio struct {
	Version string   `json:"version,omitempty"` // such as "3.33"
	Jobs    []FioJob `json:"jobs"`
	Reading
}

// FioJob is one job, or a group of them where fio was told to report groups.
type FioJob struct {
	Name  string `json:"name"`
	Group int    `json:"group"`
	// Error is the error number that the job ended with, 0 if it did well. The numbers of such a job mean little.
	Error int `json:"error"`
	// Read, Write and Trim are nil where nothing was moved.
	Read  *FioMove `json:"read,omitempty"`
	Write *FioMove `json:"write,omitempty"`
	Trim  *FioMove `json:"trim,omitempty"`
}

// FioMove is what a job moved in one direction.
type FioMove struct {
	Bytes       int64   `json:"bytes"`
	BytesPerSec float64 `json:"bytes_per_sec"`
	IOPS        float64 `json:"iops"`
	Seconds     float64 `json:"seconds"`
	// MeanUs, P50Us and P99Us are latencies of completion in microseconds, 0 where they are not said.
	MeanUs float64 `json:"mean_us"`
	P50Us  float64 `json:"p50_us"`
	P99Us  float64 `json:"p99_us"`
}

type fioDocument struct {
	Version string `json:"fio version"`
	Jobs    []struct {
		Name  string  `json:"jobname"`
		Group int     `json:"groupid"`
		Error int     `json:"error"`
		Read  fioMove `json:"read"`
		Write fioMove `json:"write"`
		Trim  fioMove `json:"trim"`
	} `json:"jobs"`
}

// fioMove has times in ns from fio 3.0 on, and in us before.
type fioMove struct {
	Bytes    int64     `json:"io_bytes"`
	KB       int64     `json:"io_kbytes"`
	BwBytes  float64   `json:"bw_bytes"`
	BwKiB    float64   `json:"bw"`
	IOPS     float64   `json:"iops"`
	Runtime  float64   `json:"runtime"` // ms
	Latency  fioTimes  `json:"clat_ns"`
	Latency2 *fioTimes `json:"clat"`
}

type fioTimes struct {
	Mean        float64            `json:"mean"`
	Percentiles map[string]float64 `json:"percentile"`
}

// ReadFio reads what fio --output-format=json prints, of fio 2 and 3. Lines before the JSON, with which fio tells errors, are problems.
func ReadFio(text []byte) Fio {
	f := Fio{Reading: Reading{Whole: true}}
	body, found := document(text, `"fio version"`)
	before := text
	if found {
		before = text[:bytes.Index(text, body[:min(len(body), 64)])]
	}
	for _, l := range lines(before, &f.Reading) {
		if t := strings.TrimSpace(l.text); strings.HasPrefix(t, "fio:") || strings.HasPrefix(t, "verify:") {
			f.lack("line %d: %s", l.number, t)
		}
	}
	if !found {
		f.lack("there is no JSON of fio")
		return f
	}
	var doc fioDocument
	f.decode(body, &doc)
	f.fill(doc)
	return f
}

func (f *Fio) fill(doc fioDocument) {
	f.Version = clip(strings.TrimPrefix(doc.Version, "fio-"))
	if len(doc.Jobs) == 0 {
		f.lack("there are no jobs")
	}
	for _, j := range doc.Jobs {
		if j.Error != 0 {
			f.lack("job %s ended with error %d", j.Name, j.Error)
		}
		f.Jobs = keep(f.Jobs, FioJob{Name: clip(j.Name), Group: j.Group, Error: j.Error, Read: j.Read.move(), Write: j.Write.move(), Trim: j.Trim.move()})
	}
}

func (m fioMove) move() *FioMove {
	out := FioMove{Bytes: m.Bytes, BytesPerSec: m.BwBytes, IOPS: m.IOPS, Seconds: m.Runtime / 1000}
	if m.BwBytes == 0 {
		out.BytesPerSec = m.BwKiB * 1024
	}
	if out.Bytes == 0 && out.BytesPerSec == 0 {
		return nil
	}
	times, unit := m.Latency, 1e3
	if m.Latency2 != nil {
		times, unit = *m.Latency2, 1
	}
	out.MeanUs, out.P50Us, out.P99Us = times.Mean/unit, times.Percentiles["50.000000"]/unit, times.Percentiles["99.000000"]/unit
	return &out
}
