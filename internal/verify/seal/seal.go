// Package seal signs a report and proves a signature, in the format of ssh-keygen -Y.
package seal
