//go:build linux

package load

// What a head tells all workers, as a line of JSON.
const (
	doOpen    = "open"
	doMeasure = "measure"
)

// What workers say, in lines of under 1000 bytes, as srun keeps those whole.
const (
	kindReady    = "ready"
	kindMeasured = "measured"
)

type trafficTold struct {
	Do string `json:"do"`
	// Token is what connections have to prove that they know. Towards is an address of the network to listen on.
	Token   string        `json:"token,omitempty"`
	Towards string        `json:"towards,omitempty"`
	Turn    int           `json:"turn,omitempty"`
	Pairs   []trafficPair `json:"pairs,omitempty"`
	Streams int           `json:"streams,omitempty"`
	Seconds float64       `json:"seconds,omitempty"`
	CapGBps float64       `json:"cap,omitempty"`
}

// trafficPair says that the worker of A connects to that of B, at To.
type trafficPair struct {
	A  string `json:"a"`
	B  string `json:"b"`
	To string `json:"to"`
}

type trafficSaid struct {
	Node    string `json:"node"`
	Kind    string `json:"kind"`
	Address string `json:"address,omitempty"`
	Turn    int    `json:"turn,omitempty"`
	// There and Back are GB/s.
	There    float64 `json:"there,omitempty"`
	Back     float64 `json:"back,omitempty"`
	MedianUs float64 `json:"median_us,omitempty"`
	P99Us    float64 `json:"p99_us,omitempty"`
	Err      string  `json:"err,omitempty"`
}
