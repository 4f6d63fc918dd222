// Package host runs the Python around kernels: wrappers that allocate memory and
// launch, and benchmarks of them. It is the evaluator of core/frontend with
// stand-ins for the parts of torch and triton that such code needs, on a device of
// package driver.
//
//	err := host.Run(ctx, host.Options{Source: src, …}, func(p *host.Program) error {
//		marks, err := p.Marks() // of @triton.testing.perf_report
//		…
//		cell, err := p.Measure(marks[0].Benchmarks[0], x, line)
//	})
//
// What is known, each a row of a table:
//
//	torch            torch.go     empty, zeros, ones, full, rand, randn, randint,
//	                              arange, the same *_like, device, manual_seed,
//	                              dtypes, Tensor, cuda.*, no_grad
//	tensors          tensor.go    shape, stride(), numel(), element_size(), dtype,
//	                              device, data_ptr(), is_contiguous(), …
//	                 view.go      view, reshape, T, transpose, permute, slices, …
//	                 arith.go     to(), + - * / with numbers and tensors
//	torch.autograd   autograd.go  Function.apply, save_for_backward, backward()
//	triton           triton.go    testing.do_bench, do_bench_cudagraph, Benchmark,
//	                              perf_report; the active driver's device and
//	                              properties; TensorDescriptor
//	kernels          launch.go    kernel[grid](…), kernel.warmup(…)
//
// Everything else of torch, and of modules that are not here, is missing: code may
// pass it on, and who needs it gets a *Missing. So a benchmark's torch baselines
// fail, and its kernels run.
//
// Tensors hold real values, on the device as soon as a kernel asks for them. Random ones
// repeat after a million elements: benchmarks need memory, and no more entropy.
// Arithmetic on them is the host's and prepares data; while do_bench measures it is
// missing, since it would be a kernel of torch's.
//
// It imports core, driver and driver/launch; it must not import cmd or a backend.
package host
