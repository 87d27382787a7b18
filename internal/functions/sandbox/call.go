// Calls.

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tetratelabs/wazero/api"
)

// The errors of calls.
var (
	// ErrTimeout means that a call took longer than its limit.
	ErrTimeout = errors.New("the update function took too long")
	// ErrTrap means that a call ended by a trap: an unreachable instruction, an access outside of
	// the memory, a division by zero, a full stack.
	ErrTrap = errors.New("the update function trapped")
	// ErrMemory means that a call trapped after its memory had grown to the limit, or that the input
	// did not fit into it.
	ErrMemory = errors.New("the update function needs more memory than its limit")
	// ErrInput means that the caller has given more arguments than the limit.
	ErrInput = errors.New("too many arguments for an update function")
	// ErrOutput means that the output is malformed, or over a limit.
	ErrOutput = errors.New("the output of the update function is invalid")
)

// Call runs the function. It waits for its turn first; ctx bounds that wait and the call. Errors
// other than those of ctx belong to the function, and calling it again with the same input would
// give the same, except for ErrTimeout.
func (f *Function) Call(ctx context.Context, in *Input) (Result, error) {
	limits := &f.runtime.limits
	if len(in.Arguments) > limits.Arguments {
		return Result{}, fmt.Errorf("%w: %d, at most %d", ErrInput, len(in.Arguments), limits.Arguments)
	}
	input, err := in.append(nil)
	if err != nil {
		return Result{}, err
	}
	// 1. Wait for a turn. The time limit of the call begins behind it.
	select {
	case f.runtime.slots <- struct{}{}:
		defer func() { <-f.runtime.slots }()
	case <-ctx.Done():
		return Result{}, ctx.Err()
	}
	own, cancel := context.WithTimeout(ctx, limits.Timeout)
	defer cancel()
	// 2. Run an instance.
	output, err := f.run(own, input)
	switch {
	case ctx.Err() != nil:
		return Result{}, ctx.Err()
	case err != nil && own.Err() != nil:
		return Result{}, fmt.Errorf("%w: more than %s", ErrTimeout, limits.Timeout.Round(time.Microsecond))
	case err != nil:
		return Result{}, err
	}
	// 3. Parse what it has written.
	return parseOutput(output, limits.Results)
}

// run returns a copy of the output of one instance.
func (f *Function) run(ctx context.Context, input []byte) ([]byte, error) {
	in, err := f.instance(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: while it was initialized: %s", ErrTrap, oneLine(err))
	}
	output, err := f.exchange(ctx, in, input)
	// A failed call may have closed the instance, and left anything in it. If the time is over by now,
	// the engine may close it a moment later, although the call has succeeded.
	if err == nil && ctx.Err() == nil && in.reset() {
		select {
		case f.idle <- in:
			return output, nil
		default:
		}
	}
	// The context of a call that timed out is done, but the instance must be freed all the same.
	return output, errors.Join(err, in.module.Close(context.WithoutCancel(ctx)))
}

// exchange writes the input, runs the function and reads the output.
func (f *Function) exchange(ctx context.Context, in *instance, input []byte) ([]byte, error) {
	memory := in.module.Memory()
	limits := &f.runtime.limits
	// 1. Write the input where the module expects it.
	at, err := in.input.Call(ctx, uint64(len(input)))
	if err != nil {
		return nil, f.trap(in.module, err)
	}
	if !memory.Write(uint32(at[0]), input) {
		return nil, fmt.Errorf("%w: %s returned %d for %d bytes, and the memory has %d", ErrOutput, exportInput, uint32(at[0]), len(input), memory.Size())
	}
	out, err := in.run.Call(ctx, uint64(uint32(at[0])), uint64(len(input)))
	if err != nil {
		return nil, f.trap(in.module, err)
	}
	// 2. Copy the output, because the memory is used again.
	begin, size := uint32(out[0]>>32), uint32(out[0])
	if int64(size) > int64(limits.OutputBytes) {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrOutput, size, limits.OutputBytes)
	}
	view, ok := memory.Read(begin, size)
	if !ok {
		return nil, fmt.Errorf("%w: %s returned %d bytes at %d, and the memory has %d", ErrOutput, exportRun, size, begin, memory.Size())
	}
	return append([]byte(nil), view...), nil
}

// trap returns the error for a call that failed. A module at its limit of memory most likely
// trapped because of that.
func (f *Function) trap(in api.Module, err error) error {
	if left := in.ExportedGlobal(stackExport); left != nil && uint32(left.Get()) == stackFull {
		return errStack()
	}
	memory := in.Memory()
	if int(memory.Size())+pageBytes > f.runtime.limits.MemoryBytes {
		return fmt.Errorf("%w of %d bytes: %s", ErrMemory, f.runtime.limits.MemoryBytes, oneLine(err))
	}
	return fmt.Errorf("%w: %s", ErrTrap, oneLine(err))
}
