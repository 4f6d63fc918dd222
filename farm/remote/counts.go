package remote

import (
	"time"

	"github.com/tritonc/tritonc/core/cache"
)

// count changes what is counted, and what decides on that, with s.mu held.
func (s *Store) count(change func(*cache.Counts)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.counts)
}

// leave notes that the server is left alone from now on. s.mu is held.
func (s *Store) leave() {
	if s.awayAt.IsZero() {
		s.awayAt = time.Now()
	}
}

// Counts are what became of the questions so far.
func (s *Store) Counts() cache.Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.counts
	if !s.awayAt.IsZero() {
		c.Off += time.Since(s.awayAt).Seconds()
		c.Away = time.Now().Before(s.offUntil)
	}
	return c
}

// Away implements cache.Away.
func (s *Store) Away() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn == nil && time.Now().Before(s.offUntil)
}
