// Package formation drives CloudFormation: it makes a change set, shows what it
// would change, executes it, tells of the events that matter, says in words why
// something failed, and takes stacks away. After a crash the same call goes on.
package formation
