// liveness
