// Package expect says what is right for a node of an instance type and where that is from: versions, counts, bandwidths.
package expect
