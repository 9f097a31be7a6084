// Package formation is CloudFormation's state machine in the double of AWS.
package formation
