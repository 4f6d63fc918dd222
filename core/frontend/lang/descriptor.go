package lang

// descriptors: tensor descriptors and what is read and written through them.
var descriptors = []*Builtin{}

// descMethods are the methods of descriptors.
var descMethods = []*Builtin{}

// DescMethod finds a method of tensor descriptors.
func DescMethod(name string) *Builtin {
	for _, b := range descMethods {
		if b.Name == name {
			return b
		}
	}
	return nil
}
