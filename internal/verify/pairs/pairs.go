// Package pairs says which nodes measure with which in which round, and which of them is the slow one.
package pairs
