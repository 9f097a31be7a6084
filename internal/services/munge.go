package services

import "crypto/rand"

// mungeKeyBytes is the length of a new key: munge takes 32 to 1024.
const mungeKeyBytes = 128

// NewMungeKey is a new key for munge.
func NewMungeKey() ([]byte, error) {
	key := make([]byte, mungeKeyBytes)
	_, err := rand.Read(key)
	return key, err
}
