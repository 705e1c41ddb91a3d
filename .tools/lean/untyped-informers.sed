# Has the informers of client-go/informers speak of any object, as they did before Kubernetes 1.37, instead of one kind each.
#
# Go makes what is generic anew for each type: with 147 kinds, each package that only mentions the factory of informers gets 2,352 copies of
# the methods of DeletedObject, and reads the types of all handlers. That was a third of the time of the 340 packages of Kubernetes that do.
# Nothing here uses the informers of one kind, but for these two, of dynamic resource allocation:
/ResourceSlice/b
/DeviceTaintRule/b
s/^type \([A-Za-z]*IndexInformer\) cache\.TypedSharedIndexInformer\[.*\]$/type \1 = cache.SharedIndexInformer/
s/^type \([A-Za-z]*Indexers\) = cache\.TypedIndexers\[.*\]$/type \1 = cache.Indexers/
/^type [A-Za-z]* = cache\.Typed[A-Za-z]*\[.*\]$/d
/^type [A-Za-z]* = cache\.DeletedObject\[.*\]$/d
s/cache\.NewTypedSharedIndexInformer\[[^]]*\](/(/
s/cache\.TypedIndexersToIndexers(indexers)/indexers/
