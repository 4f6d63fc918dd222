package cache

import "context"

// Shared is a store that several machines have. Its methods wait no longer than a user
// set, and nothing that goes wrong there is an error: it is as if nothing were stored.
// What a method returns somebody has signed who is trusted.
type Shared interface {
	// Index returns what lies under a key that is known before anything is made, and tells
	// under which keys there are entries; nil for nothing.
	Index(ctx context.Context, key Key) []byte
	// Entry returns an entry, and who signed it; nil for none.
	Entry(ctx context.Context, key Key) (data []byte, signer string)
	// Claim says who is to make what has a key. Where another machine does, it waits until
	// that is over, and reports that it waited. Where it returns a claim the caller is to
	// make it, and to keep or drop what comes of that; with neither, the caller makes it
	// for itself alone.
	Claim(ctx context.Context, key Key) (claim Claim, waited bool)
}

// Away is a Shared that may be out of reach for a while.
type Away interface {
	Shared
	// Away reports whether it is, and has nothing for anybody until it is back.
	Away() bool
}

// Claim is held by the only one who makes something.
type Claim interface {
	// Keep stores an entry, and the index by which it is found, some time later, and then
	// ends the claim.
	Keep(index []byte, entry Key, data []byte)
	// Drop ends the claim.
	Drop()
}
