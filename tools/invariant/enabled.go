//go:build invariants

package invariant

// Enabled says that this build checks.
const Enabled = true
