// Package judge makes results of what was seen on nodes and what is right there.
package judge
