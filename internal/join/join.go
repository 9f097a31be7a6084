// Package join is how a machine learns which node it is, and how it says that it is
// ready or has failed: the words and both ends of the HTTP between the agent of a
// node and the controller. Both prove by munge that they are root on a machine of
// the cluster.
package join
