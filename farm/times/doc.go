// Package times keeps what tuning measured in a bucket of NATS JetStream, for all machines
// of a farm.
//
// Main type: Store. An entry is one of driver/tune's: the times of one kernel for one key
// on one device. Its key in the bucket is
//
//	KERNEL.SOURCE.REST.SIGNER
//
// hashes of the kernel's name, of its file, of all else that tells entries apart (the
// key of the launch, device, target, way of measuring, and the versions that compiled it),
// and of the public key of who signed it, or "unsigned". So the times of a kernel are those
// below KERNEL, and neither two versions of tritonc nor two signers mix theirs: nobody signs
// what another has measured. A value is a file of times with this entry, compressed and
// sealed.
//
// Writers lose nothing of each other's: one reads an entry, merges its own times into it,
// and writes it back only over the revision that it has read; else it begins again. Of
// two times of one configuration the one that was written later counts.
//
// The package imports driver/tune, farm/bus and farm/sign.
package times
