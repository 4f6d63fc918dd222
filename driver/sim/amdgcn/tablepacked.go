package amdgcn

// packedRows are the instructions on pairs, by the function of one element.
func packedRows() map[string]row {
	rows := map[string]row{}
	add := func(name string, r row) {
		r.name, r.flops = name, 2*r.flops
		rows[name] = r
	}
	byName := map[string]row{}
	for _, r := range append(floatRows(), integerRows()...) {
		byName[r.name] = r
	}
	// The instruction of one element that a packed one applies twice.
	for packed, single := range map[string]string{
		"v_pk_add_f16": "v_add_f16", "v_pk_mul_f16": "v_mul_f16", "v_pk_fma_f16": "v_fma_f16",
		"v_pk_min_f16": "v_min_f16", "v_pk_max_f16": "v_max_f16",
		"v_pk_min_num_f16": "v_min_f16", "v_pk_max_num_f16": "v_max_f16",
		"v_pk_minimum_f16": "v_minimum_f16", "v_pk_maximum_f16": "v_maximum_f16",
		"v_pk_minimum3_f16": "v_minimum3_f16", "v_pk_maximum3_f16": "v_maximum3_f16",
		"v_pk_add_u16": "v_add_u16", "v_pk_sub_u16": "v_sub_u16", "v_pk_add_i16": "v_add_i16", "v_pk_sub_i16": "v_sub_i16",
		"v_pk_mul_lo_u16": "v_mul_lo_u16", "v_pk_mad_u16": "v_mad_u16", "v_pk_mad_i16": "v_mad_u16",
		"v_pk_min_i16": "v_min_i16", "v_pk_max_i16": "v_max_i16", "v_pk_min_u16": "v_min_u16", "v_pk_max_u16": "v_max_u16",
		"v_pk_lshlrev_b16": "v_lshlrev_b16", "v_pk_lshrrev_b16": "v_lshrrev_b16", "v_pk_ashrrev_i16": "v_ashrrev_i16",
		"v_pk_add_f32": "v_add_f32", "v_pk_mul_f32": "v_mul_f32", "v_pk_fma_f32": "v_fma_f32",
	} {
		add(packed, byName[single])
	}
	return rows
}
